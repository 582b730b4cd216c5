#include "base/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

namespace winnow {

void OpenStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // Gets the number of the stream, the lowest that is free.
    if (open("/dev/null", stream == STDERR_FILENO ? O_RDWR : O_RDONLY) < 0) _exit(1);
  }
}

}  // namespace winnow
