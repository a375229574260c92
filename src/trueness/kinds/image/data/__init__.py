"""Images and what is planted in them."""
