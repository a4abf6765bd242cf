//! What the page for admins says about containerd's configuration.

use std::fs;

use anyhow::{Context, Result};
use nri_host_tests::containerd::{self, Release, V1_7, V2_1, V2_4};
use nri_host_tests::tier;

const PAGE: &str = include_str!("../../../docs/admins.md");

/// The first block of TOML on the page that contains a text.
pub(crate) fn documented(text: &str) -> Result<String> {
    let blocks = PAGE.split("```toml\n").skip(1);
    let mut blocks = blocks.filter_map(|rest| rest.split_once("```").map(|(block, _)| block));
    let block = blocks.find(|block| block.contains(text));
    Ok(block
        .with_context(|| format!("no block has {text:?}"))?
        .to_owned())
}

#[test]
fn nri_is_on_with_the_tables_of_the_page_and_where_it_says_so() -> Result<()> {
    if tier::skipped("real containerd", containerd::missing()) {
        return Ok(());
    }
    let (version_2, version_3) = (documented("version = 2")?, documented("version = 3")?);
    for (release, table, by_default) in [
        (V1_7, &version_2, false),
        (V2_1, &version_3, true),
        (V2_4, &version_3, true),
    ] {
        let bare = table.lines().next().unwrap_or_default();
        assert_eq!(
            nri_is_on(release, bare)?,
            by_default,
            "{release:?} by default"
        );
        assert!(nri_is_on(release, table)?, "{release:?} with {table}");
        let off = table.replace("false", "true");
        assert!(!nri_is_on(release, &off)?, "{release:?} with {off}");
    }
    Ok(())
}

fn nri_is_on(release: Release, config: &str) -> Result<bool> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("config.toml");
    fs::write(&file, config)?;
    let dump = release.config_dump(&file)?;
    let disable = &dump["plugins"]["io.containerd.nri.v1.nri"]["disable"];
    Ok(!disable.as_bool().context("disable is true or false")?)
}
