"""The pages of the environments, one Markdown file for each variant, made from the code.

`python -m noms_env.docs` writes them again. `source` reads docstrings and declarations, `texts` holds what the code does
not say, `pages` puts the pages together.
"""
