/*
 * A component that breaks the rules of the border, in ways that the Rust SDK
 * does not allow. For tests of the host.
 *
 *   cc -std=c99 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -pthread
 *      -I plugin-api/include -o libraw_faults.so tests/components/raw_faults.c
 *
 * The configuration names one fault and the methods that have it; "all" stands
 * for every method. Whatever else is answered with an empty message, save that
 * Synchronize is not wanted unless it is named.
 *
 *   { "fault": "garbage", "on": ["CreateContainer"] }
 *
 *   garbage           the answer is not protobuf
 *   none              NRIH_OK without a reply
 *   null_with_length  a reply of ten bytes at NULL
 *   too_large         a reply of 5 MiB
 *   sysctl            an adjustment that sets a sysctl
 *   double_reply      two replies; the second one is garbage
 *   late_reply        NRIH_OK without a reply; another thread replies when the
 *                     next call, or destroy, has begun
 *   reply_after_destroy
 *                     NRIH_DEAD without a reply; another thread replies, to
 *                     the host that the instance had, when it was destroyed and
 *                     the next one is created
 *   stale_token       a reply for another token, then NRIH_OK
 *   not_utf8          a rejection whose text is not UTF-8
 *   reply_unknown     a reply with status 77
 *   unknown           handle returns 77 without a reply
 *   unsupported       handle returns NRIH_UNSUPPORTED
 *   dead              handle returns NRIH_DEAD
 *   bad_updates       an empty answer, after asking for updates that no runtime
 *                     could use, and for one that lacks what runtimes rely on;
 *                     it does not want to know what comes of them
 *
 * What the host makes of a reply is logged as "FAULT: reply returned STATUS",
 * what it makes of an update as "update: KIND returned STATUS".
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nri_component.h"

#define ALL_METHODS (UINT64_C(0x7ffe) | NRIH_METHOD_BIT(NRIH_METHOD_SYNCHRONIZE))
#define TOO_LARGE ((size_t)5 << 20)

NRIH_DEFINE_NOTE("dev.nri-host.raw-faults", "1", 0);

struct instance {
  const nrih_host *host;
  char *config;
  uint64_t late_token; /* 0: no reply is owed */
};

/* An instance that was destroyed and still owes a reply. An instance is made
 * and destroyed on one thread. */
static _Thread_local struct instance *destroyed;

static void *copy(const char *text, size_t len) {
  char *copied = malloc(len + 1);
  if (copied != NULL) {
    memcpy(copied, text, len);
    copied[len] = '\0';
  }
  return copied;
}

/* Whether the configuration holds this text as a JSON string. */
static int names(const struct instance *self, const char *text, size_t len) {
  const char *at = self->config;
  while ((at = strchr(at, '"')) != NULL) {
    at++;
    if (strncmp(at, text, len) == 0 && at[len] == '"')
      return 1;
  }
  return 0;
}

static int has(const struct instance *self, const char *text) {
  return names(self, text, strlen(text));
}

static void reply(struct instance *self, const char *fault, uint64_t token,
                  int32_t status, const void *data, size_t len) {
  const nrih_host *host = self->host;
  char line[80];
  int32_t result = host->reply(host->ctx, token, status, data, len);
  int written =
      snprintf(line, sizeof line, "%s: reply returned %d", fault, (int)result);
  host->log(host->ctx, NRIH_LOG_INFO, line, (size_t)written);
}

static void *reply_late(void *argument) {
  struct instance *self = argument;
  reply(self, "a reply from another thread", self->late_token, NRIH_OK, NULL, 0);
  return NULL;
}

/* Gives the reply that is owed, from another thread. */
static void settle(struct instance *self) {
  pthread_t thread;
  if (self->late_token == 0)
    return;
  if (pthread_create(&thread, NULL, reply_late, self) == 0)
    pthread_join(thread, NULL);
  self->late_token = 0;
}

static void dispose(struct instance *self) {
  free(self->config);
  free(self);
}

static int32_t create(const nrih_host *host, const nrih_create_args *args,
                      void **instance) {
  struct instance *made = malloc(sizeof *made);
  if (destroyed != NULL) {
    settle(destroyed);
    dispose(destroyed);
    destroyed = NULL;
  }
  if (made == NULL)
    return NRIH_FAILED;
  made->host = host;
  made->late_token = 0;
  made->config = copy(args->config, args->config_len);
  if (made->config == NULL) {
    free(made);
    return NRIH_FAILED;
  }
  *instance = made;
  return NRIH_OK;
}

static void reply_too_large(struct instance *self, uint64_t token) {
  uint8_t *data = calloc(TOO_LARGE, 1);
  if (data == NULL)
    return;
  reply(self, "too_large", token, NRIH_OK, data, TOO_LARGE);
  free(data);
}

/* Faults of the reply; 0: none of them was asked for. */
static int misreply(struct instance *self, uint64_t token) {
  static const uint8_t garbage[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                    0xff, 0xff, 0xff, 0xff, 0xff};
  /* adjust { linux { sysctl { key: "a.b" value: "1" } } } */
  static const uint8_t sysctl[] = {0x0a, 0x0c, 0x32, 0x0a, 0x42, 0x08, 0x0a,
                                   3,    'a',  '.',  'b',  0x12, 1,    '1'};
  if (has(self, "garbage")) {
    reply(self, "garbage", token, NRIH_OK, garbage, sizeof garbage);
  } else if (has(self, "sysctl")) {
    reply(self, "sysctl", token, NRIH_OK, sysctl, sizeof sysctl);
  } else if (has(self, "null_with_length")) {
    reply(self, "null_with_length", token, NRIH_OK, NULL, 10);
  } else if (has(self, "too_large")) {
    reply_too_large(self, token);
  } else if (has(self, "double_reply")) {
    reply(self, "double_reply", token, NRIH_OK, NULL, 0);
    reply(self, "double_reply", token, NRIH_OK, garbage, sizeof garbage);
  } else if (has(self, "stale_token")) {
    reply(self, "stale_token", token + 1000, NRIH_OK, NULL, 0);
  } else if (has(self, "not_utf8")) {
    reply(self, "not_utf8", token, NRIH_REJECTED, "no \xff\xfe!", 6);
  } else if (has(self, "reply_unknown")) {
    reply(self, "reply_unknown", token, 77, "what?", 5);
  } else {
    return 0;
  }
  return 1;
}

static void ask(struct instance *self, const char *kind, const void *data,
                size_t len) {
  const nrih_host *host = self->host;
  char line[80];
  int32_t result = host->update_containers(host->ctx, 1, data, len);
  int written = snprintf(line, sizeof line, "update: %s returned %d", kind, (int)result);
  host->log(host->ctx, NRIH_LOG_INFO, line, (size_t)written);
}

static void ask_badly(struct instance *self) {
  static const uint8_t large[(size_t)65 << 10];
  /* update { linux { } }: of no container */
  static const uint8_t unnamed[] = {0x0a, 0x02, 0x12, 0x00};
  /* update { container_id: "c" linux { resources { pids { limit: 5 } } } } */
  static const uint8_t pids[] = {0x0a, 0x0b, 0x0a, 0x01, 'c',  0x12, 0x06,
                                 0x0a, 0x04, 0x42, 0x02, 0x08, 0x05};
  ask(self, "NULL with a length", NULL, 10);
  ask(self, "one cut off", pids, sizeof pids - 1);
  ask(self, "a large one", large, sizeof large);
  ask(self, "one of no container", unnamed, sizeof unnamed);
  ask(self, "one of pids alone", pids, sizeof pids);
}

static int32_t handle(void *instance, const nrih_request *request) {
  struct instance *self = instance;
  uint64_t token = request->token;
  settle(self);
  if (!has(self, "all") &&
      !names(self, request->method_name, request->method_name_len)) {
    self->host->reply(self->host->ctx, token, NRIH_OK, NULL, 0);
    return NRIH_OK;
  }
  if (misreply(self, token) || has(self, "none"))
    return NRIH_OK;
  if (has(self, "late_reply")) {
    self->late_token = token;
    return NRIH_OK;
  }
  if (has(self, "reply_after_destroy")) {
    self->late_token = token;
    return NRIH_DEAD;
  }
  if (has(self, "bad_updates"))
    ask_badly(self);
  if (has(self, "unsupported"))
    return NRIH_UNSUPPORTED;
  if (has(self, "dead"))
    return NRIH_DEAD;
  if (has(self, "unknown"))
    return 77;
  self->host->reply(self->host->ctx, token, NRIH_OK, NULL, 0);
  return NRIH_OK;
}

static void destroy(void *instance) {
  struct instance *self = instance;
  if (has(self, "reply_after_destroy") && self->late_token != 0) {
    destroyed = self;
    return;
  }
  settle(self);
  dispose(self);
}

static uint64_t methods(void *instance) {
  const struct instance *self = instance;
  if (has(self, "all") || has(self, "Synchronize"))
    return ALL_METHODS;
  return ALL_METHODS & ~NRIH_METHOD_BIT(NRIH_METHOD_SYNCHRONIZE);
}

static const void *get_interface(const char *id, size_t len) {
  static const nrih_methods found = {(uint32_t)sizeof(nrih_methods), 0, methods};
  if (len == sizeof NRIH_METHODS_ID - 1 && memcmp(id, NRIH_METHODS_ID, len) == 0)
    return &found;
  return NULL;
}

const nrih_component nrih_component_v1 = {
    NRIH_MAGIC,
    (uint32_t)sizeof(nrih_component),
    (uint16_t)NRIH_ABI_MAJOR,
    (uint16_t)NRIH_ABI_MINOR,
    0,
    0,
    "dev.nri-host.raw-faults",
    "1",
    ALL_METHODS,
    create,
    handle,
    destroy,
    get_interface,
};
