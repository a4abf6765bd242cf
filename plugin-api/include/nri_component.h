/*
 * nri_component.h - the border between nri-host and a component, ABI version 1
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * This file is the normative text. A component is a shared object (ELF, x86-64
 * or aarch64, Linux, glibc) that
 *
 *   1. carries one ELF note (struct nrih_note, section ".note.nrih"), which the
 *      host reads from the file before any code of it runs;
 *   2. exports one constant, nrih_component_v1 (struct nrih_component), and
 *      should export nothing else.
 *
 * The host loads the file with RTLD_NOW | RTLD_LOCAL from a private copy and
 * never unloads it. At first sight of a file it loads the copy in a throw-away
 * process before, which ends by _exit: constructors must do well there, within
 * 5 seconds, with an environment of nothing but what the dynamic loader reads
 * (LD_*, GLIBC_TUNABLES), and leave nothing behind that would disturb the
 * second time.
 *
 * One loaded file may serve several instances: each has its own configuration,
 * its own name towards the container runtime, its own thread; static variables
 * of the library are shared by all of them.
 *
 * READING THE COMMENTS. Each function states
 *   thread:    which thread calls it
 *   state:     when it may be called
 *   ownership: who owns what the pointers point to, and for how long
 *   failure:   what is returned when it does not work, and what that means
 *
 * GROWTH. Structs grow only at their end. A field exists if and only if it ends
 * within the struct_size that its maker wrote; nobody allocates or copies the
 * other side's structs by an own sizeof. Everything optional is an interface
 * found by a string id ("nrih.NAME/REV" for ours, "com.vendor.NAME/REV" for
 * yours); an unknown id is answered with NULL, always. Unknown status, level or
 * method values are treated as the generic one. Method numbers are never
 * reused. A change that this does not allow gets a new major version: another
 * symbol name, beside this one.
 *
 * WHAT MAY CROSS. Fixed-width integers, size_t, pointers, function pointers,
 * and pointers to the structs below. Payloads are encoded NRI protobuf
 * messages (package nri.pkg.api.v1alpha1), as the runtime sent them. No
 * exception, panic or longjmp may leave a function of the component: the
 * process would end. A component must not call exit(), setenv(), chdir(),
 * umask(), fork() without exec, or install signal handlers.
 *
 * Strings are UTF-8 with an explicit length and need no terminating NUL, save
 * for the two in struct nrih_component.
 */
#ifndef NRI_COMPONENT_H
#define NRI_COMPONENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NRIH_ABI_MAJOR 1u
#define NRIH_ABI_MINOR 0u

/* "NRIHCOMP" read as a little-endian integer. */
#define NRIH_MAGIC UINT64_C(0x504d4f434849524e)

/* ---- status -------------------------------------------------------------- */

/* Done. */
#define NRIH_OK 0
/*
 * A decision of the component about this pod or container: it must not go on.
 * From handle for CreateContainer, UpdateContainer, RunPodSandbox,
 * StartContainer and ValidateContainerAdjustment: the runtime gets an error
 * with the reason (at most 1 KiB of it). For any other method it is logged.
 */
#define NRIH_REJECTED (-1)
/*
 * Something went wrong inside. The component's on_failure setting decides. An
 * instance that fails often is left uncalled for a time.
 */
#define NRIH_FAILED (-2)
/* This method, interface or value is not known here. */
#define NRIH_UNSUPPORTED (-3)
/* From create only: not now (a device or a daemon is not there yet). */
#define NRIH_TRY_LATER (-4)
/* To a component: this token is not, or no longer, waiting for a reply. */
#define NRIH_STALE (-5)
/*
 * To a component: this instance was destroyed. From handle: the instance can
 * no longer be used (the Rust SDK says so after a panic); the host destroys it
 * and creates it again.
 */
#define NRIH_DEAD (-6)

/* ---- methods ------------------------------------------------------------- */

/* 1 to 14 are the numbers of the NRI events. */
#define NRIH_METHOD_UNKNOWN 0u /* new to this host: look at method_name */
#define NRIH_METHOD_RUN_POD_SANDBOX 1u
#define NRIH_METHOD_STOP_POD_SANDBOX 2u
#define NRIH_METHOD_REMOVE_POD_SANDBOX 3u
#define NRIH_METHOD_CREATE_CONTAINER 4u
#define NRIH_METHOD_POST_CREATE_CONTAINER 5u
#define NRIH_METHOD_START_CONTAINER 6u
#define NRIH_METHOD_POST_START_CONTAINER 7u
#define NRIH_METHOD_UPDATE_CONTAINER 8u
#define NRIH_METHOD_POST_UPDATE_CONTAINER 9u
#define NRIH_METHOD_STOP_CONTAINER 10u
#define NRIH_METHOD_REMOVE_CONTAINER 11u
#define NRIH_METHOD_UPDATE_POD_SANDBOX 12u
#define NRIH_METHOD_POST_UPDATE_POD_SANDBOX 13u
#define NRIH_METHOD_VALIDATE_CONTAINER_ADJUSTMENT 14u
/* All pods and containers at once: the new truth, also after each reconnect. */
#define NRIH_METHOD_SYNCHRONIZE 32u

#define NRIH_METHOD_BIT(method) (UINT64_C(1) << (method))

/* ---- log levels ---------------------------------------------------------- */

#define NRIH_LOG_ERROR 1u
#define NRIH_LOG_WARN 2u
#define NRIH_LOG_INFO 3u
#define NRIH_LOG_DEBUG 4u
#define NRIH_LOG_TRACE 5u

/* ---- the note ------------------------------------------------------------ */

#define NRIH_NOTE_SECTION ".note.nrih"
#define NRIH_NOTE_NAME "NRIHOST"
#define NRIH_NOTE_TYPE 0x4e520001u

/* Bits 0 to 15 may be ignored by a host that does not know them; a file with an
 * unknown bit among 16 to 31 is refused. */
#define NRIH_FLAG_GO_RUNTIME 0x00000001u   /* carries a Go runtime */
#define NRIH_FLAG_ONE_INSTANCE 0x00000002u /* cannot serve two instances */
#define NRIH_FLAG_PANIC_ABORT 0x00010000u  /* a panic in it ends the process */
#define NRIH_FLAG_OWN_PROCESS 0x00020000u  /* asks to run in a process of its own */

/*
 * The ELF note. Little-endian, 4-byte aligned, in a PT_NOTE segment, exactly
 * one in a file. It may grow at its end: descsz tells.
 */
typedef struct nrih_note {
  uint32_t namesz;         /* 8 */
  uint32_t descsz;         /* size of what follows name */
  uint32_t type;           /* NRIH_NOTE_TYPE */
  char name[8];            /* NRIH_NOTE_NAME with its NUL */
  uint16_t abi_major;      /* what the component was built against */
  uint16_t abi_minor;
  uint16_t min_host_minor; /* an older host refuses the file */
  uint16_t reserved;       /* 0 */
  uint32_t flags;          /* NRIH_FLAG_... */
  char id[64];             /* reverse DNS, "com.acme.gpu", NUL-padded */
  char version[32];        /* free text, NUL-padded */
} nrih_note;

/* ---- what the host gives ------------------------------------------------- */

/*
 * The host's functions for one instance.
 *
 * ownership: valid from the start of create until destroy has returned. ctx is
 * never freed: a call that comes later is answered with NRIH_DEAD. After a
 * create that has failed, the next create may be given the same ctx: a thread
 * that the failed one has left behind would speak for the new instance.
 * thread: every function may be called from any thread, blocks for no peer,
 * never calls back into the component.
 */
typedef struct nrih_host {
  uint32_t struct_size;
  uint16_t abi_major;
  uint16_t abi_minor;
  void *ctx; /* handed to each function below */

  /*
   * Writes one line to the host's log, under the component's name.
   * state:     any time from the start of create
   * ownership: message is read before the call returns
   * failure:   none; a line is cut after 8 KiB, and lines past a rate limit
   *            are counted and left out
   */
  void (*log)(void *ctx, uint32_t level, const char *message, size_t len);

  /*
   * The answer to the request with this token; for token 0, inside create or
   * on_result, the text of an error.
   * state:     once for each request, before handle returns
   * ownership: data is copied before the call returns
   * status:    NRIH_OK: data is the encoded response message of the method
   *            (len 0: the empty message). Else data is UTF-8 text for a person.
   * failure:   NRIH_STALE: no request with this token is waiting (a second
   *            reply, or one after handle returned); NRIH_DEAD: the instance
   *            was destroyed; NRIH_FAILED: data is NULL with len > 0, or too
   *            large (more than 4 MiB less 1 KiB): the request has failed.
   */
  int32_t (*reply)(void *ctx, uint64_t token, int32_t status,
                   const uint8_t *data, size_t len);

  /*
   * Asks the runtime for changes of running containers, outside a request: data
   * is an encoded UpdateContainersRequest. cookie is the component's own; it
   * comes back in "nrih.update-result/1".
   *
   * This call only queues. The request is sent when the session is active (its
   * Synchronize was answered), no request of the runtime has been under way in
   * any component of the host for a moment, and no other such request waits for
   * its answer; what is queued when a session is lost waits for the next one. It
   * also waits while the component is in quarantine, or has not come back from a
   * call that is overdue. Before it is sent
   * it is brought into the form that every runtime takes: updates without
   * resources are left out, and the others have their cpu and memory messages.
   * When nothing is left the runtime is not asked.
   *
   * state:     any time from the start of create
   * ownership: data is copied before the call returns
   * failure:   NRIH_UNSUPPORTED: this host does not offer it; NRIH_TRY_LATER:
   *            the queue is full (64 requests that are not answered, or 1 MiB of
   *            them, or 128 with those whose result the component has not been
   *            told); NRIH_FAILED: data cannot be read, is
   *            larger than 64 KiB, or names no container in one of its parts
   *            (the host's log says which); NRIH_DEAD
   */
  int32_t (*update_containers)(void *ctx, uint64_t cookie, const uint8_t *data,
                               size_t len);

  /*
   * An optional interface of the host, see below.
   * ownership: the returned struct starts with uint32_t struct_size and lives
   *            as long as the process
   * failure:   NULL: this host does not have it
   */
  const void *(*get_interface)(void *ctx, const char *id, size_t len);
} nrih_host;

/*
 * Flags of nrih_create_args: nothing but a trial. The instance is destroyed
 * straight after create, in a process that is there for nothing else, and
 * another one of the same name may be serving meanwhile. create says what is
 * wrong with the configuration, as ever, and leaves alone what others would
 * notice: a socket that it listens on, a device that it claims.
 */
#define NRIH_CREATE_TRIAL 0x00000001u

typedef struct nrih_create_args {
  uint32_t struct_size;
  uint32_t index;     /* 0 to 99, as the runtime sees it */
  const char *name;   /* the instance's name in the host's configuration */
  size_t name_len;
  const char *config; /* [component.config] as one JSON object ("{}" if there is
                         none); TOML dates and times are strings in it */
  size_t config_len;
  uint32_t log_level; /* the most talkative NRIH_LOG_... that is kept */
  uint32_t flags;     /* NRIH_CREATE_...; ignore those that you do not know */
} nrih_create_args;

typedef struct nrih_request {
  uint32_t struct_size;
  uint32_t method;      /* NRIH_METHOD_... */
  uint64_t token;       /* to be handed to reply; never 0 */
  uint64_t deadline_ns; /* CLOCK_MONOTONIC; a later reply is thrown away */
  const char *method_name; /* "CreateContainer" */
  size_t method_name_len;
  const uint8_t *payload;  /* the encoded request message */
  size_t payload_len;
} nrih_request;

/* ---- what the component gives -------------------------------------------- */

typedef struct nrih_component {
  uint64_t magic; /* NRIH_MAGIC */
  uint32_t struct_size;
  uint16_t abi_major;
  uint16_t abi_minor;
  uint32_t flags; /* as in the note */
  uint32_t reserved;
  const char *id;      /* NUL-terminated; equal to the note's */
  const char *version; /* NUL-terminated; equal to the note's */
  /*
   * NRIH_METHOD_BIT of each method that handle wants. The host calls no other
   * and answers the rest itself. "nrih.methods/1" can narrow it for an instance.
   */
  uint64_t methods;

  /*
   * Makes an instance.
   * thread:    the instance's own thread; the host waits 5 s for it
   * state:     once, before anything else; again after destroy
   * ownership: host is valid until destroy returned; args and what it points to
   *            until create returned. *instance belongs to the component.
   * failure:   NRIH_FAILED or NRIH_TRY_LATER, with the reason given by
   *            host->reply for token 0; destroy is not called then.
   *            A reload of the host creates an instance before it destroys the
   *            one that it replaces. Where the two cannot be there at the same
   *            time, NRIH_TRY_LATER has the other one destroyed first.
   */
  int32_t (*create)(const nrih_host *host, const nrih_create_args *args,
                    void **instance);

  /*
   * Serves one request: calls host->reply exactly once, then returns NRIH_OK.
   * thread:    the instance's own thread, one request at a time
   * state:     between create and destroy
   * ownership: request and all that it points to are valid until handle returns
   * failure:   a negative status says that there was no reply and there will be
   *            none. NRIH_DEAD: see there; the text of a reply given before it
   *            tells why. NRIH_OK without a reply counts as NRIH_FAILED.
   */
  int32_t (*handle)(void *instance, const nrih_request *request);

  /*
   * Ends an instance. Threads of its own are joined before it returns.
   * thread:    the instance's own thread
   * state:     once for each successful create; no function of host may be
   *            called after it returned
   * failure:   none; an instance whose destroy does not return is left behind
   */
  void (*destroy)(void *instance);

  /*
   * An optional interface of the component, see below. May be NULL.
   * thread:    any; before, after or during the life of instances
   * ownership: the returned struct starts with uint32_t struct_size and lives
   *            as long as the library is loaded
   * failure:   NULL: the component does not have it
   */
  const void *(*get_interface)(const char *id, size_t len);
} nrih_component;

/* The one exported symbol. The major version is in its name. */
#define NRIH_COMPONENT_SYMBOL "nrih_component_v1"
#if defined(__GNUC__)
#define NRIH_EXPORT __attribute__((visibility("default")))
#else
#define NRIH_EXPORT
#endif
extern NRIH_EXPORT const nrih_component nrih_component_v1;

/* ---- interfaces of the component ----------------------------------------- */

/* "nrih.methods/1": the methods that one instance wants. */
#define NRIH_METHODS_ID "nrih.methods/1"
typedef struct nrih_methods {
  uint32_t struct_size;
  uint32_t reserved;
  /*
   * A subset of nrih_component.methods, as its configuration asks.
   * thread:    the instance's own thread
   * state:     once, straight after create
   * failure:   none; bits outside nrih_component.methods are ignored
   */
  uint64_t (*methods)(void *instance);
} nrih_methods;

/* "nrih.update-result/1": what came of requests to update_containers. */
#define NRIH_UPDATE_RESULT_ID "nrih.update-result/1"
typedef struct nrih_update_result {
  uint32_t struct_size;
  uint32_t reserved;
  /*
   * Tells the result of the request that was queued with this cookie.
   * thread:    the instance's own thread
   * state:     once for each request that was taken, unless the instance is
   *            destroyed first; never inside create, handle or destroy. An
   *            answer of the runtime is told when it arrives. Any other result
   *            is told when the thread next has a turn: after a request, or at
   *            the beginning or the end of a session; the host wakes nobody for
   *            it. None is told while the component is in quarantine.
   * ownership: data is valid until on_result returns
   * status:    NRIH_OK: the runtime has answered; data is the encoded
   *            UpdateContainersResponse, and what its list failed names was not
   *            applied. Also told, with len 0, when there was nothing to ask
   *            for. NRIH_FAILED: the runtime refused the request, did not
   *            answer within 10 s or gave an answer that is of no use, or the
   *            session was lost; data is UTF-8 text
   *            that says which. All, some or none of it may have been applied.
   *            Any other status is to be treated as NRIH_FAILED.
   * failure:   NRIH_DEAD: as from handle, with the text given by host->reply
   *            for token 0. Any other returned status is of no consequence.
   *            The host waits for half the time that the runtime gives a
   *            request, or for the component's configured timeout if that is
   *            shorter; from then on requests are answered in place of the
   *            component until it returns.
   */
  int32_t (*on_result)(void *instance, uint64_t cookie, int32_t status,
                       const uint8_t *data, size_t len);
} nrih_update_result;

/*
 * "nrih.command/1": commands of the component's own, for an admin:
 * `nri-host component NAME ARGS...`.
 *
 * The program loads the library into a process for this one command, apart from
 * the daemon, and calls no other function of the component in it: no create, no
 * handle. Standard input, output and error are the admin's. There is no time
 * limit; signals have their default effect, save for SIGPIPE, which is ignored.
 * The process ends by _exit when the function has returned.
 */
#define NRIH_COMMAND_ID "nrih.command/1"

/* The streams that a command writes to. */
#define NRIH_STREAM_OUTPUT 1u
#define NRIH_STREAM_ERROR 2u

/* A text. It stands in arrays, so it never grows. */
typedef struct nrih_text {
  const char *data;
  size_t len;
} nrih_text;

/*
 * One command to be run.
 * ownership: it and all that it points to are valid until run returns
 */
typedef struct nrih_command_call {
  uint32_t struct_size;
  uint32_t reserved;      /* 0 */
  void *ctx;              /* handed to write */
  const nrih_text *args;  /* the command's name, and what followed it */
  size_t args_count;      /* at least 1 */
  const char *config;     /* as in nrih_create_args */
  size_t config_len;
  /*
   * Writes all of data to NRIH_STREAM_OUTPUT or NRIH_STREAM_ERROR.
   * thread:    any, until run returns
   * ownership: data is read before the call returns
   * failure:   NRIH_FAILED: nobody reads the stream any more, or it cannot be
   *            written to; the host tells the admin, the command is to end.
   *            NRIH_UNSUPPORTED: another stream
   */
  int32_t (*write)(void *ctx, uint32_t stream, const uint8_t *data, size_t len);
} nrih_command_call;

typedef struct nrih_command {
  uint32_t struct_size;
  uint32_t reserved;
  /*
   * Names the commands, by calling tell with each and one line of help.
   * thread:    the main thread of a process for one command
   * ownership: the strings are copied before tell returns
   * failure:   none
   */
  void (*list)(void *ctx, void (*tell)(void *ctx, const char *name,
                                       size_t name_len, const char *help,
                                       size_t help_len));
  /*
   * Runs a command. What goes wrong is written to NRIH_STREAM_ERROR.
   * thread:    the main thread of a process for one command
   * returns:   0 to 255: the exit status of the process. NRIH_UNSUPPORTED: there
   *            is no such command, and nothing was written; the host says so.
   *            Any other value counts as the exit status 1, or 0 if it is
   *            NRIH_STREAM_OUTPUT that nobody reads any more.
   */
  int32_t (*run)(const nrih_command_call *call);
} nrih_command;

/* ---- interfaces of the host ---------------------------------------------- */

/* "nrih.config-error/1": says which key of the configuration is wrong, so that
 * the host can name the file and the line. */
#define NRIH_CONFIG_ERROR_ID "nrih.config-error/1"
typedef struct nrih_config_error {
  uint32_t struct_size;
  uint32_t reserved;
  /*
   * Reports one mistake. May be called several times; create then fails.
   * thread:    the instance's own thread
   * state:     inside create
   * ownership: both strings are copied before the call returns
   * key:       as in "allow_devices[0].path"; empty for the whole table
   * failure:   none
   */
  void (*report)(void *ctx, const char *key, size_t key_len,
                 const char *message, size_t message_len);
} nrih_config_error;

/*
 * "nrih.health/1": what an instance says of itself, to be shown to whoever asks
 * the host for its status.
 *
 * The component pushes it. If the host asked for it instead, it would have to
 * call the component from a thread that is not the instance's, or wait until
 * that thread is free, which is never when the answer matters most.
 */
#define NRIH_HEALTH_ID "nrih.health/1"

/* Something that is not as it should be. */
typedef struct nrih_health_problem {
  const char *message;
  size_t message_len;
  const char *file; /* what it is about, such as a path; len 0: nothing */
  size_t file_len;
  uint32_t line; /* in this file, from 1; 0: none */
  uint32_t reserved; /* 0 */
} nrih_health_problem;

typedef struct nrih_health_report {
  uint32_t struct_size;
  uint32_t problem_size; /* sizeof(nrih_health_problem), by which they grow */
  const char *summary;   /* one line, such as "12 hooks from 2 directories" */
  size_t summary_len;
  const nrih_health_problem *problems;
  size_t problems_count; /* 0: all is well */
} nrih_health_report;

typedef struct nrih_health {
  uint32_t struct_size;
  uint32_t reserved;
  /*
   * Takes the place of what was reported before. It lasts until the instance is
   * destroyed. Problems do not change what the host does with the component.
   * thread:    any
   * state:     any time from the start of create
   * ownership: everything is copied before the call returns
   * failure:   NRIH_FAILED: report cannot be read; what was reported before
   *            stays. NRIH_DEAD. Of each text 1 KiB is kept, of the problems
   *            the first 100 and how many there are; control characters become
   *            spaces.
   */
  int32_t (*report)(void *ctx, const nrih_health_report *report);
} nrih_health;

/* "nrih.runtime/1": the runtime that the component's session is with. */
#define NRIH_RUNTIME_ID "nrih.runtime/1"
typedef struct nrih_runtime {
  uint32_t struct_size;
  uint32_t reserved;
  /*
   * Writes a JSON object, without NUL at its end:
   * {"name":"containerd","version":"2.4.2","nri_version":"0.12.3"}. Other keys
   * may be added. nri_version is what the runtime says or, before NRI 0.12,
   * what its version is known to have; empty when there is doubt.
   * thread:    any
   * state:     any time from the start of create; it can change with each
   *            session, and never while handle runs
   * returns:   the length of the object, of which nothing is written if it is
   *            larger than capacity; 0: the runtime has not said what it is
   * failure:   0
   */
  size_t (*describe)(void *ctx, uint8_t *buffer, size_t capacity);
} nrih_runtime;

/* ---- a note in C --------------------------------------------------------- */

/*
 * Defines the note of a component written in C or C++ with GCC or Clang. The
 * two texts are string literals of at most 63 and 31 bytes.
 */
#define NRIH_DEFINE_NOTE(note_id, note_version, note_flags)                    \
  __attribute__((used, section(NRIH_NOTE_SECTION), aligned(4)))                \
  static const nrih_note nrih_this_note = {                                    \
      8u,                                                                      \
      (uint32_t)(sizeof(nrih_note) - offsetof(nrih_note, abi_major)),          \
      NRIH_NOTE_TYPE,                                                          \
      NRIH_NOTE_NAME,                                                          \
      (uint16_t)NRIH_ABI_MAJOR,                                                \
      (uint16_t)NRIH_ABI_MINOR,                                                \
      0u,                                                                      \
      0u,                                                                      \
      (note_flags),                                                            \
      note_id,                                                                 \
      note_version}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NRI_COMPONENT_H */
