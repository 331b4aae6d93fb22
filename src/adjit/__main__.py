"""`python -m adjit`: the `adjit` command."""

from adjit.cli import main

if __name__ == "__main__":  # worker processes of the command import this module, too
    main()
