"""Pages over stores: every study, figure, cell and text has an address; the same served and exported."""
