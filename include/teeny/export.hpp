// Marks what libteeny exports; everything else is hidden.
#pragma once

#if defined(_WIN32)
#define TEENY_EXPORT
#else
#define TEENY_EXPORT __attribute__((visibility("default")))
#endif
