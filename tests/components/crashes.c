/*
 * A component that ends the whole process, for tests of the host.
 *
 *   { "crash": "segv", "in": "CreateContainer" }
 *
 *   segv       a write to address 16
 *   bus        a read past the end of a mapped file
 *   ill        an instruction that does not exist
 *   fpe        a division by zero
 *   trap       a breakpoint (x86-64 only)
 *   abort      abort()
 *   raise      raise(SIGSEGV)
 *   overflow   endless recursion
 *   exit       exit(3)
 *   thread     the same as segv, on a thread "worker" of its own
 *
 * "in" is a method, or create, destroy or methods (the interface that narrows
 * them). With the variable CRASH_IN_CONSTRUCTOR set, loading it is enough.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "nri_component.h"

#define ALL_METHODS (UINT64_C(0x7ffe) | NRIH_METHOD_BIT(NRIH_METHOD_SYNCHRONIZE))

NRIH_DEFINE_NOTE("dev.nri-host.crashes", "1", 0);

struct instance {
  const nrih_host *host;
  char config[256];
};

static void segv(void) {
  volatile uintptr_t address = 16;
  *(volatile int *)address = 1;
}

static void bus(void) {
  int fd = memfd_create("empty", MFD_CLOEXEC);
  volatile char *mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  (void)mapped[0];
}

static void ill(void) { __builtin_trap(); }

static void fpe(void) {
  volatile int zero = 0;
  volatile int result = getpid() / zero;
  (void)result;
}

static void trap(void) {
#ifdef __x86_64__
  __asm__ volatile("int3");
#endif
}

static int deeper(volatile int depth) {
  volatile char room[4096];
  room[depth % 4096] = 1;
  return depth < 0 ? 0 : deeper(depth + 1) + room[0];
}

static void overflow(void) { deeper(1); }

static void *worker(void *argument) {
  prctl(PR_SET_NAME, "worker");
  segv();
  return argument;
}

static void thread(void) {
  pthread_t started;
  if (pthread_create(&started, NULL, worker, NULL) == 0)
    pthread_join(started, NULL);
}

static void raise_segv(void) { raise(SIGSEGV); }
static void exit_3(void) { exit(3); }

static const struct {
  const char *name;
  void (*crash)(void);
} crashes[] = {
    {"\"segv\"", segv},     {"\"bus\"", bus},           {"\"ill\"", ill},
    {"\"fpe\"", fpe},       {"\"abort\"", abort},       {"\"raise\"", raise_segv},
    {"\"exit\"", exit_3},   {"\"overflow\"", overflow}, {"\"thread\"", thread},
    {"\"trap\"", trap},
};

/* Crashes if the configuration wants it here. */
static void come_to(const struct instance *self, const char *place, size_t len) {
  char quoted[64] = "\"";
  size_t i;
  if (len > sizeof quoted - 3)
    return;
  memcpy(quoted + 1, place, len);
  quoted[len + 1] = '"';
  if (strstr(self->config, quoted) == NULL)
    return;
  for (i = 0; i < sizeof crashes / sizeof crashes[0]; i++)
    if (strstr(self->config, crashes[i].name) != NULL)
      crashes[i].crash();
}

__attribute__((constructor)) static void constructor(void) {
  /* As destructors of static objects in C++ are: not for a process that has
     threads in them. */
  atexit(segv);
  if (getenv("CRASH_IN_CONSTRUCTOR") != NULL)
    segv();
}

static int32_t create(const nrih_host *host, const nrih_create_args *args, void **instance) {
  struct instance *self = calloc(1, sizeof *self);
  if (self == NULL || args->config_len >= sizeof self->config)
    return NRIH_FAILED;
  self->host = host;
  memcpy(self->config, args->config, args->config_len);
  come_to(self, "create", 6);
  *instance = self;
  return NRIH_OK;
}

static int32_t handle(void *instance, const nrih_request *request) {
  struct instance *self = instance;
  come_to(self, request->method_name, request->method_name_len);
  self->host->reply(self->host->ctx, request->token, NRIH_OK, NULL, 0);
  return NRIH_OK;
}

static void destroy(void *instance) {
  come_to(instance, "destroy", 7);
  free(instance);
}

static uint64_t methods(void *instance) {
  come_to(instance, "methods", 7);
  return ALL_METHODS;
}

static const void *get_interface(const char *id, size_t len) {
  static const nrih_methods interface = {sizeof interface, 0, methods};
  if (len == sizeof NRIH_METHODS_ID - 1 && memcmp(id, NRIH_METHODS_ID, len) == 0)
    return &interface;
  return NULL;
}

const nrih_component nrih_component_v1 = {
    .magic = NRIH_MAGIC,
    .struct_size = sizeof(nrih_component),
    .abi_major = NRIH_ABI_MAJOR,
    .abi_minor = NRIH_ABI_MINOR,
    .id = "dev.nri-host.crashes",
    .version = "1",
    .methods = ALL_METHODS,
    .create = create,
    .handle = handle,
    .destroy = destroy,
    .get_interface = get_interface,
};
