/*
 * A component in C99 with nothing but the header: it marks each new container
 * with an annotation that names the instance.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "nri_component.h"

#define ID "dev.nri-host.minimal"
#define VERSION "1.0.0"

NRIH_DEFINE_NOTE(ID, VERSION, 0);

struct minimal {
  const nrih_host *host;
  uint8_t response[256]; /* the same for each container */
  size_t response_len;
};

/* Writes a protobuf field of at most 127 bytes, with a number below 16. */
static size_t put(uint8_t *out, unsigned number, const void *value, size_t len) {
  out[0] = (uint8_t)(number << 3 | 2);
  out[1] = (uint8_t)len;
  memcpy(out + 2, value, len);
  return len + 2;
}

static int32_t fail(const nrih_host *host, const char *reason) {
  host->reply(host->ctx, 0, NRIH_FAILED, (const uint8_t *)reason, strlen(reason));
  return NRIH_FAILED;
}

static int32_t create(const nrih_host *host, const nrih_create_args *args, void **instance) {
  static const char key[] = "minimal.nri-host.dev";
  uint8_t entry[128], annotations[128];
  size_t len;
  struct minimal *self;

  if (args->name_len > 63)
    return fail(host, "the name is longer than 63 bytes");
  self = malloc(sizeof *self);
  if (self == NULL)
    return fail(host, "out of memory");
  self->host = host;
  len = put(entry, 1, key, sizeof key - 1);
  len += put(entry + len, 2, args->name, args->name_len);
  len = put(annotations, 2, entry, len);                       /* ContainerAdjustment */
  self->response_len = put(self->response, 1, annotations, len); /* CreateContainerResponse */
  *instance = self;
  return NRIH_OK;
}

static int32_t handle(void *instance, const nrih_request *request) {
  const struct minimal *self = instance;

  if (request->method != NRIH_METHOD_CREATE_CONTAINER)
    return NRIH_UNSUPPORTED;
  self->host->reply(self->host->ctx, request->token, NRIH_OK, self->response, self->response_len);
  return NRIH_OK;
}

static void destroy(void *instance) { free(instance); }

const nrih_component nrih_component_v1 = {
    .magic = NRIH_MAGIC,
    .struct_size = sizeof(nrih_component),
    .abi_major = NRIH_ABI_MAJOR,
    .abi_minor = NRIH_ABI_MINOR,
    .id = ID,
    .version = VERSION,
    .methods = NRIH_METHOD_BIT(NRIH_METHOD_CREATE_CONTAINER),
    .create = create,
    .handle = handle,
    .destroy = destroy,
};
