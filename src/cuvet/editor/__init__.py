"""``cuvet lsp``: what ``cuvet check`` finds, in an editor that speaks the Language Server Protocol 3.17."""
