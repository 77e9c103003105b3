"""Recipes of the images, inside the package so that an installed wheel can build them."""
