#include "server/pools/pool_kinds.h"

#include "server/host/pools/command_pool.h"
#include "server/host/pools/kubernetes/kubernetes_settings.h"
#include "server/host/pools/local_pool.h"
#include "server/host/pools/slurm_pool.h"

namespace winnow {

std::vector<PoolKind> PoolKinds() {
  return {{"SLURM", "slurm", &SlurmPool::Make},
          {"KUBERNETES", "kubernetes", &MakeKubernetesPool},
          {"LOCAL", "local", &LocalPool::Make},
          {"COMMAND", "command", &CommandPool::Make}};
}

}  // namespace winnow
