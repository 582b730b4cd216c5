#include "base/standard_streams.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/catch.h"

namespace winnow {
namespace {

// Whether a process without these descriptors has them once they are opened, so that none is a file's.
bool IsWholeWithout(std::initializer_list<int> closed) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int descriptor : closed) close(descriptor);
    OpenStandardStreams();
    bool whole = open("/dev/zero", O_RDWR) > STDERR_FILENO;
    for (const int descriptor : closed)
      whole = whole && (write(descriptor, "x", 1) == 1) == (descriptor == STDERR_FILENO);
    _exit(whole ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

TEST_CASE("OpenStandardStreams: a process that was started without one opens no file in its place",
          "[base]") {
  CHECK(IsWholeWithout({}));
  CHECK(IsWholeWithout({1}));
  CHECK(IsWholeWithout({2}));
  CHECK(IsWholeWithout({0, 2}));
  CHECK(IsWholeWithout({0, 1, 2}));
}

}  // namespace winnow
