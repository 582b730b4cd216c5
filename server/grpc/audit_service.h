#pragma once

#include "server/grpc/guard.h"
#include "server/reads/reads.h"
#include "winnow/v1/audit.grpc.pb.h"

namespace winnow {

// The gRPC side of the audit log. REQUIRES: reader and authority outlive the gRPC server.
class AuditService final : public v1::AuditService::CallbackService {
 public:
  AuditService(Reader& reader, Authority& authority)
      : reader_(reader), guard_(authority, v1::AuditService::service_full_name()) {}

  grpc::ServerUnaryReactor* ListAuditEntries(grpc::CallbackServerContext*, const v1::ListAuditEntriesRequest*,
                                             v1::ListAuditEntriesResponse*) override;

 private:
  Reader& reader_;
  Guard guard_;
};

}  // namespace winnow
