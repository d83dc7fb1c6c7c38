"""THE READABLE KERNEL: what each instruction means, one small function each; and processes that are no trees."""
