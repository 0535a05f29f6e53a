extern "C" {
void dladdr() {}
void dladdr1() {}
void dlinfo() {}
void dlopen() {}
void dlsym() {}
void dlvsym() {}
}
