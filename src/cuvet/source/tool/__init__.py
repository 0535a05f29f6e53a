"""What ``cuvet check`` puts around the analysis: which files, which findings, kept results, and edits."""
