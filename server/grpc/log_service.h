#pragma once

#include "server/grpc/guard.h"
#include "server/reads/reads.h"
#include "winnow/v1/logs.grpc.pb.h"

namespace winnow {

// When output was received; GetLogs is of TuningService. REQUIRES: reader and authority outlive the gRPC
// server.
class LogService final : public v1::LogService::CallbackService {
 public:
  LogService(Reader& reader, Authority& authority)
      : reader_(reader), guard_(authority, v1::LogService::service_full_name()) {}

  grpc::ServerUnaryReactor* GetLogTimes(grpc::CallbackServerContext*, const v1::GetLogTimesRequest*,
                                        v1::GetLogTimesResponse*) override;

 private:
  Reader& reader_;
  Guard guard_;
};

}  // namespace winnow
