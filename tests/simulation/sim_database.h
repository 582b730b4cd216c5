#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "store/store.h"

namespace winnow {

// The database of simulated servers, which outlives them; the next run has it empty.
class SimDatabase {
 public:
  // SQLite in memory; or, where `address` is not "", a schema of its own in that PostgreSQL database, which
  // the destructor drops.
  static absl::StatusOr<std::unique_ptr<SimDatabase>> Open(const std::string& address);
  virtual ~SimDatabase() = default;

  // That of the server that lives, or of the one that died last.
  Store& store() { return *store_; }
  virtual absl::Status Clear() = 0;
  // A server's process begins: it opens the store as the program does.
  virtual absl::Status BeginServer() = 0;
  // Its process has ended.
  virtual void EndServer() = 0;
  // Whether its connection can be lost, so that a commit may be unknown.
  virtual bool has_connection() const = 0;
  // No transaction can use more room from now on. False: the commits must be refused.
  virtual bool FillDisk(bool full) = 0;

 protected:
  std::unique_ptr<Store> store_;
};

}  // namespace winnow
