"""``cuvet inject``: lets the calls of a program fail, one site after another, and says what the program does then."""
