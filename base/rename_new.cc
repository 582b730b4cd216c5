#include "base/rename_new.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

namespace winnow {

int RenameNew(const std::string& from, const std::string& to, decltype(&renameat2) rename_with) {
  if (rename_with(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL) return errno;
  struct stat there {};
  if (lstat(to.c_str(), &there) == 0) return EEXIST;
  return rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

}  // namespace winnow
