//! What a pod mounts.

use k8s_openapi::api::core::v1::{
    AWSElasticBlockStoreVolumeSource, AzureDiskVolumeSource, CinderVolumeSource,
    EphemeralVolumeSource, GCEPersistentDiskVolumeSource, ISCSIVolumeSource, ImageVolumeSource,
    PersistentVolumeClaimVolumeSource, PortworxVolumeSource, RBDVolumeSource, Volume,
};

use super::message::{Malformed, Message, MessageField, MessageFields, Slot as _, messages};

messages! {
    GCEPersistentDiskVolumeSource {
        1 => pd_name,
        4 => read_only,
    }
    AWSElasticBlockStoreVolumeSource {
        1 => volume_id,
    }
    ISCSIVolumeSource {
        2 => iqn,
        6 => read_only,
    }
    RBDVolumeSource {
        1 => monitors,
        2 => image,
        4 => pool,
        8 => read_only,
    }
    AzureDiskVolumeSource {
        2 => disk_uri,
    }
    CinderVolumeSource {
        1 => volume_id,
    }
    PortworxVolumeSource {
        1 => volume_id,
    }
    PersistentVolumeClaimVolumeSource {
        1 => claim_name,
    }
    ImageVolumeSource {
        1 => reference,
    }
    // Its claim has a name that follows from those of pod and volume.
    EphemeralVolumeSource {}
}

impl Message for Volume {
    fn set(&mut self, field: MessageField<'_>) -> Result<(), Malformed> {
        match field.number {
            1 => self.name.accept(field),
            2 => source(self, field.bytes()?),
            _ => Ok(()),
        }
    }
}

/// The source of a volume is a message of its own here, and stands beside the name in JSON.
fn source(volume: &mut Volume, message: &[u8]) -> Result<(), Malformed> {
    for field in MessageFields::of(message) {
        let field = field?;
        match field.number {
            3 => volume.gce_persistent_disk.accept(field)?,
            4 => volume.aws_elastic_block_store.accept(field)?,
            8 => volume.iscsi.accept(field)?,
            10 => volume.persistent_volume_claim.accept(field)?,
            11 => volume.rbd.accept(field)?,
            13 => volume.cinder.accept(field)?,
            22 => volume.azure_disk.accept(field)?,
            24 => volume.portworx_volume.accept(field)?,
            29 => volume.ephemeral.accept(field)?,
            30 => volume.image.accept(field)?,
            _ => {}
        }
    }
    Ok(())
}
