/* Never touches CUDA. */
int main(void) { return 0; }
