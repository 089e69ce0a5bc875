"""The four released shapes of MULFE: three about documents, one about specificity questions."""
