/*
 * A component whose library can have one instance only. CreateContainer returns
 * once the file exists that the compiler's arguments name: -DGATE='"/tmp/go"'.
 * Creation fails while there is another instance, as a bug of the host.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "nri_component.h"

NRIH_DEFINE_NOTE("dev.nri-host.sole", "1.0.0", NRIH_FLAG_ONE_INSTANCE);

static atomic_int instances;

static int32_t create(const nrih_host *host, const nrih_create_args *args, void **instance) {
  static const char second[] = "there are two instances";
  (void)args;
  if (atomic_fetch_add(&instances, 1) > 0) {
    host->reply(host->ctx, 0, NRIH_FAILED, (const uint8_t *)second, strlen(second));
    return NRIH_FAILED;
  }
  *instance = (void *)(uintptr_t)host;
  return NRIH_OK;
}

static int32_t handle(void *instance, const nrih_request *request) {
  const nrih_host *host = instance;
  while (access(GATE, F_OK) != 0)
    usleep(1000);
  host->reply(host->ctx, request->token, NRIH_OK, NULL, 0);
  return NRIH_OK;
}

static void destroy(void *instance) {
  (void)instance;
  atomic_fetch_sub(&instances, 1);
}

const nrih_component nrih_component_v1 = {
    .magic = NRIH_MAGIC,
    .struct_size = sizeof(nrih_component),
    .abi_major = NRIH_ABI_MAJOR,
    .abi_minor = NRIH_ABI_MINOR,
    .flags = NRIH_FLAG_ONE_INSTANCE,
    .id = "dev.nri-host.sole",
    .version = "1.0.0",
    .methods = NRIH_METHOD_BIT(NRIH_METHOD_CREATE_CONTAINER),
    .create = create,
    .handle = handle,
    .destroy = destroy,
};
