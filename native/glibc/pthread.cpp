extern "C" {
void pthread_create() {}
void pthread_detach() {}
void pthread_key_create() {}
void pthread_setspecific() {}
}
