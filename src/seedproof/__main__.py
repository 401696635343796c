"""`python -m seedproof`: the command line, where its program is not on the path."""

from seedproof.cli.main import main

if __name__ == "__main__":
    main()
