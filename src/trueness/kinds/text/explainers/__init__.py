"""Methods that only models of texts have."""
