"""`python -m trueness` is the command line."""

from trueness.cli.main import main

if __name__ == "__main__":
    main()
