/* The frames of a Python program that called the driver. */
#ifndef GS_PYTHON_HOST_FRAMES_H
#define GS_PYTHON_HOST_FRAMES_H

#include <stddef.h>

/* Writes the frames of this thread, innermost first: lines of "python", file, line and function, between tabs. Ends where
 * there is no more room. Returns the length; 0 if the thread runs no Python. */
size_t gs_python_host_frames(char *text, size_t size);

#endif
