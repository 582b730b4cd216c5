#pragma once

#include <stdio.h>

#include <string>

namespace winnow {

// Renames a file to a name that nothing has yet. Returns 0, or an errno: EEXIST if something has the name.
// Where the file system cannot do both at once (NFS), a file that is made in the same moment is replaced.
// `rename_with`: another function in its place, for tests.
int RenameNew(const std::string& from, const std::string& to, decltype(&renameat2) rename_with = renameat2);

}  // namespace winnow
