// What the programs with several ways have in common: the one that the command line names runs.
#pragma once

#include <cstdio>
#include <cstring>

struct Way {
    const char* name;
    int (*run)();
};

template <int COUNT>
int run_way(const Way (&ways)[COUNT], const char* name) {
    for (const Way& way : ways) {
        if (strcmp(name, way.name) != 0) continue;
        const int code = way.run();
        if (!code) puts("done");
        return code;
    }
    return 2;
}
