#pragma once

namespace winnow {

// Opens /dev/null for each of the descriptors 0, 1 and 2 that this process was started without. Otherwise the
// next file that it opens, such as its database, has that number, and what is printed is written into the
// file. Writing to a standard output that was closed fails; what is written to such a standard error is lost.
// REQUIRES: nothing else has been opened or started yet.
void OpenStandardStreams();

}  // namespace winnow
