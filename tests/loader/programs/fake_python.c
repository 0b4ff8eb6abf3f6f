/* A libpython of a version that does not exist, as a host program with another Python would bring. */
__attribute__((visibility("default"))) int Py_IsInitialized(void) {
    return 1;
}

__attribute__((visibility("default"))) const char *Py_GetVersion(void) {
    return "3.99.0 (fake)";
}
