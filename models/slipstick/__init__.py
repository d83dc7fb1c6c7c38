"""slipstick: a performance-model calculator for parallel systems."""
