"""What speaks against a place to cut a script at: the words around the object, judged by what the object is."""
