"""One format, one module, with ``write(document, out, color)``; ``reports.FORMATS`` lists them."""
