/* A library that takes BYTES of the static thread-local storage. */
static _Thread_local char taken[BYTES] __attribute__((tls_model("initial-exec")));

char *place(void) { return taken; }
