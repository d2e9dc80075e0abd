// y = A x
