// bin/gannet of a release: runs lib/node with lib/dist/main.cjs, wherever the folder stands. Needs no shell; linked statically,
// so it runs where Node does.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

// Where machines keep the C++ library that Node needs.
static const char* const kLibraries[] = {
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/lib64/libstdc++.so.6", "/lib64/libstdc++.so.6", "/usr/lib/libstdc++.so.6"};

static void UpOneFolder(char* path) {
  char* slash = strrchr(path, '/');
  if (slash != NULL) *slash = '\0';
}

int main(int argc, char** argv) {
  char root[PATH_MAX], node[PATH_MAX + 32], program[PATH_MAX + 32], libraries[PATH_MAX + 32];
  const char* self = (const char*)getauxval(AT_EXECFN);
  if (self == NULL || realpath(self, root) == NULL) {
    perror("gannet: cannot tell where it is");
    return 2;
  }
  UpOneFolder(root);
  UpOneFolder(root);
  snprintf(node, sizeof node, "%s/lib/node", root);
  snprintf(program, sizeof program, "%s/lib/dist/main.cjs", root);
  snprintf(libraries, sizeof libraries, "%s/lib/runtime", root);
  int is_there = access(libraries, R_OK) != 0;
  for (size_t i = 0; i < sizeof kLibraries / sizeof kLibraries[0]; i++) {
    is_there |= access(kLibraries[i], R_OK) == 0;
  }
  if (!is_there) setenv("LD_LIBRARY_PATH", libraries, 1);
  char** arguments = calloc((size_t)argc + 2, sizeof *arguments);
  if (arguments == NULL) return 2;
  arguments[0] = node;
  arguments[1] = program;
  for (int i = 1; i < argc; i++) arguments[i + 1] = argv[i];
  execv(node, arguments);
  perror(node);
  return 2;
}
