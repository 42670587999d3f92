"""An example submission: replace it by the code that you want to verify."""


def slug(title):
    words = "".join(c if c.isalnum() else " " for c in title.lower()).split()
    return "-".join(words)
