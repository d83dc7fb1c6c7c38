"""Files of other tools, with what is right in them."""
