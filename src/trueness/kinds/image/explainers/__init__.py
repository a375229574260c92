"""Methods that only models of images have."""
