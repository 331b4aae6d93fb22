"""The command line: `adjit --help`. One command a module; nothing else in adjit imports this package."""

from adjit.cli.app import main as main
