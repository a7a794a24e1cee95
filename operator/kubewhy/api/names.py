"""Every name that ends up in a manifest: group, kinds, annotation and label keys, accounts.

One place, so that renaming or raising the version is one edit. Keys are grouped by who writes them:
people (`approval.…`), the webhook (`alert.…`), the operator (`kubewhy.internal/…`).
"""

from dataclasses import dataclass
from typing import Final

GROUP: Final = "kubewhy.internal"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
CATEGORY: Final = "kubewhy"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """The names one custom resource goes by."""

    kind: str
    plural: str
    singular: str
    short_names: tuple[str, ...]

    @property
    def crd_name(self) -> str:
        """The name of its CustomResourceDefinition: `<plural>.<group>`."""
        return f"{self.plural}.{GROUP}"


INVESTIGATION: Final = Kind(
    kind="Investigation",
    plural="investigations",
    singular="investigation",
    short_names=("inv",),
)
RECORD: Final = Kind(
    kind="InvestigationRecord",
    plural="investigationrecords",
    singular="investigationrecord",
    short_names=("invrec",),
)

# Written by people, guarded by an admission policy: `<prefix><request-id>`.
APPROVAL_PREFIX: Final = f"approval.{GROUP}/"
APPROVAL_REASON_PREFIX: Final = f"approval-reason.{GROUP}/"

# Written by the webhook on an Investigation that an alert made.
ALERT_RESOLVED_AT: Final = f"alert.{GROUP}/resolved-at"
ALERT_LAST_SEEN: Final = f"alert.{GROUP}/last-seen"
ALERT_COUNT: Final = f"alert.{GROUP}/count"

# Labels hold hashes only: raw alert text is hostile and longer than a label value may be.
LABEL_ALERT_SERIES: Final = f"alert.{GROUP}/series"
LABEL_ALERT_GROUP: Final = f"alert.{GROUP}/group"
LABEL_INVESTIGATION_UID: Final = f"{GROUP}/investigation-uid"
LABEL_RECORD_CONTENT: Final = f"{GROUP}/content"

# One stable field manager per writer (server-side apply, managedFields).
OPERATOR_FIELD_MANAGER: Final = "kubewhy-operator"
WEBHOOK_FIELD_MANAGER: Final = "kubewhy-webhook"
REPORTING_CONTROLLER: Final = f"{GROUP}/operator"

# Where the operator is installed, and the accounts of its parts.
SYSTEM_NAMESPACE: Final = "kubewhy-system"
OPERATOR_ACCOUNT: Final = "kubewhy-operator"
WEBHOOK_ACCOUNT: Final = "kubewhy-webhook"
INVESTIGATOR_ACCOUNT: Final = "kubewhy-investigator"
PROBE_ACCOUNT: Final = "kubewhy-probe"
WEBHOOK_TOKEN_SECRET: Final = "kubewhy-webhook-token"  # noqa: S105 - the name of a Secret
