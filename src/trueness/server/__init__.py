"""The browser over HTTP: on this machine alone, with a token, read-only but for ratings."""
