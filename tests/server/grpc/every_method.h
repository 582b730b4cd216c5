#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "checkout.h"
#include "tests/catch.h"
#include "winnow/v1/admin.grpc.pb.h"
#include "winnow/v1/artifact.grpc.pb.h"
#include "winnow/v1/audit.grpc.pb.h"
#include "winnow/v1/logs.grpc.pb.h"
#include "winnow/v1/pools.grpc.pb.h"
#include "winnow/v1/projects.grpc.pb.h"
#include "winnow/v1/tuning.grpc.pb.h"
#include "winnow/v1/usage.grpc.pb.h"
#include "winnow/v1/webhooks.grpc.pb.h"
#include "winnow/v1/worker.grpc.pb.h"

namespace winnow {

// Every method that the .proto files of the tree declare.
inline std::vector<const google::protobuf::MethodDescriptor*> AllMethods() {
  // Linked in by being used.
  v1::TuningService::service_full_name(), v1::WorkerService::service_full_name();
  v1::ArtifactService::service_full_name(), v1::AdminService::service_full_name();
  v1::UsageService::service_full_name(), v1::PoolService::service_full_name();
  v1::AuditService::service_full_name(), v1::WebhookService::service_full_name();
  v1::ProjectService::service_full_name(), v1::LogService::service_full_name();
  std::vector<const google::protobuf::MethodDescriptor*> methods;
  for (const auto& entry : std::filesystem::directory_iterator(WINNOW_SOURCE_DIR "/proto/winnow/v1")) {
    const google::protobuf::FileDescriptor* file =
        google::protobuf::DescriptorPool::generated_pool()->FindFileByName("winnow/v1/" +
                                                                           entry.path().filename().string());
    INFO(entry.path());
    REQUIRE(file != nullptr);
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m)
        methods.push_back(file->service(s)->method(m));
    }
  }
  return methods;
}

// Sends a request and reads all answers, also of streams; appends them to `answers`, if given.
inline grpc::Status CallWith(const std::shared_ptr<grpc::Channel>& channel,
                             const google::protobuf::MethodDescriptor& method, const std::string& request,
                             std::string* answers = nullptr) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  grpc::CompletionQueue queue;
  const auto call =
      stub.PrepareCall(&context, "/" + method.service()->full_name() + "/" + method.name(), &queue);
  const auto done = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  call->StartCall(nullptr);
  done();
  grpc::Slice message(request);
  call->WriteLast(grpc::ByteBuffer(&message, 1), grpc::WriteOptions(), nullptr);
  done();
  while (true) {
    grpc::ByteBuffer answer;
    call->Read(&answer, nullptr);
    if (!done()) break;
    std::vector<grpc::Slice> slices;
    answer.Dump(&slices);
    for (const grpc::Slice& slice : slices) {
      if (answers != nullptr) answers->append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
  }
  grpc::Status status;
  call->Finish(&status, nullptr);
  done();
  return status;
}

}  // namespace winnow
