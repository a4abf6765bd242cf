//! Where runtimes come from, as each puts its files elsewhere.

use std::path::Path;

/// Which container runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Containerd,
    Crio,
}

impl Kind {
    /// As people write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Containerd => "containerd",
            Self::Crio => "CRI-O",
        }
    }

    /// The name of its program, and by which it calls itself in NRI's Configure with a dash or without.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Containerd => "containerd",
            Self::Crio => "crio",
        }
    }
}

/// A way in which a runtime comes to a node.
#[derive(Debug)]
pub(crate) struct Distribution {
    /// As people write it.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// The main configuration file.
    pub(super) config: &'static str,
    /// Where its program may lie.
    pub(super) programs: &'static [&'static str],
    /// What is to be edited.
    pub(super) edited: Edited,
    /// The command that has it read its configuration.
    pub(crate) restart: &'static str,
}

/// What an admin edits.
#[derive(Debug)]
pub(super) enum Edited {
    /// The file that has the setting, else the main file.
    Itself,
    /// A new file in this folder; the main file is left alone.
    DropIn(&'static str),
    /// The main file is made anew at each start: from what it imports, else from this template.
    Template {
        file: &'static str,
        /// The line by which the template takes over what would stand in the file without it.
        base: Option<&'static str>,
    },
}

const GO_TEMPLATE_BASE: Option<&str> = Some("{{ template \"base\" . }}");

/// All that are known. The first of a kind stands for those that are not.
pub(super) static DISTRIBUTIONS: [Distribution; 6] = [
    Distribution {
        name: "containerd",
        kind: Kind::Containerd,
        config: "/etc/containerd/config.toml",
        programs: &["/usr/bin/containerd", "/usr/local/bin/containerd"],
        edited: Edited::Itself,
        restart: "systemctl restart containerd",
    },
    Distribution {
        name: "CRI-O",
        kind: Kind::Crio,
        config: "/etc/crio/crio.conf",
        programs: &["/usr/bin/crio", "/usr/local/bin/crio"],
        edited: Edited::DropIn("/etc/crio/crio.conf.d"),
        restart: "systemctl restart crio",
    },
    Distribution {
        name: "containerd of k3s",
        kind: Kind::Containerd,
        config: "/var/lib/rancher/k3s/agent/etc/containerd/config.toml",
        programs: &[],
        edited: Edited::Template {
            file: "/var/lib/rancher/k3s/agent/etc/containerd/config.toml.tmpl",
            base: GO_TEMPLATE_BASE,
        },
        restart: "systemctl restart k3s        # on agents: k3s-agent",
    },
    Distribution {
        name: "containerd of RKE2",
        kind: Kind::Containerd,
        config: "/var/lib/rancher/rke2/agent/etc/containerd/config.toml",
        programs: &[],
        edited: Edited::Template {
            file: "/var/lib/rancher/rke2/agent/etc/containerd/config.toml.tmpl",
            base: GO_TEMPLATE_BASE,
        },
        restart: "systemctl restart rke2-server        # on agents: rke2-agent",
    },
    Distribution {
        name: "containerd of MicroK8s",
        kind: Kind::Containerd,
        config: "/var/snap/microk8s/current/args/containerd.toml",
        programs: &[],
        edited: Edited::Template {
            file: "/var/snap/microk8s/current/args/containerd-template.toml",
            base: None,
        },
        restart: "snap restart microk8s",
    },
    Distribution {
        name: "containerd of k0s",
        kind: Kind::Containerd,
        config: "/etc/k0s/containerd.toml",
        programs: &[],
        edited: Edited::DropIn("/etc/k0s/containerd.d"),
        restart: "systemctl restart k0sworker        # on controllers: k0scontroller",
    },
];

impl Distribution {
    /// The one with this main file; of others, the plain one of that kind.
    pub(super) fn of(kind: Kind, config: &Path) -> &'static Self {
        let same = |known: &&Self| known.kind == kind && Path::new(known.config) == config;
        DISTRIBUTIONS
            .iter()
            .find(same)
            .unwrap_or_else(|| Self::plain(kind))
    }

    /// The usual one of that kind.
    pub(super) fn plain(kind: Kind) -> &'static Self {
        match kind {
            Kind::Containerd => &DISTRIBUTIONS[0],
            Kind::Crio => &DISTRIBUTIONS[1],
        }
    }
}
