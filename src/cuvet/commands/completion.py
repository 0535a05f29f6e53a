import argparse

NAME = "completion"
HELP = "Print the completion script of a shell."
EPILOG = """examples:
  eval "$(cuvet completion bash)"
  cuvet completion zsh > ~/.zfunc/_cuvet
  cuvet completion fish > ~/.config/fish/completions/cuvet.fish

exit codes: 0 it is printed; 2 it cannot be written, or a mistake in the use of cuvet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(args: argparse.Namespace) -> int:
    import shtab

    from cuvet.cli import make_parser

    print(shtab.complete(make_parser(), args.shell))
    return 0
