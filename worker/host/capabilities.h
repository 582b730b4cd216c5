#pragma once

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace winnow {

// What root's processes have piece by piece, capabilities(7). Each thread has its own.
using Capabilities = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

// Both are about the calling thread, and allocate nothing, so that a process that was just forked may call
// them. False: the kernel refused.
inline bool GetCapabilities(Capabilities* own) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return syscall(SYS_capget, &header, own->data()) == 0;
}
inline bool SetCapabilities(const Capabilities& own) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return syscall(SYS_capset, &header, own.data()) == 0;
}

}  // namespace winnow
