"""Tables, columns, splits and labels: what reading data has in common, whatever kind they are."""
