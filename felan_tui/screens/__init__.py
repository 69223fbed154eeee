"""The screens: one a module, each with its placement in a .tcss of the same name beside it where it needs
one.
"""
