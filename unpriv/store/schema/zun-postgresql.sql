-- SPDX-License-Identifier: Apache-2.0
-- The tables that zun-api, the scheduler and the agents share, as Zun's migrations leave them on
-- PostgreSQL 15 and later.  For an empty database, as its owner:
--     psql -1 -v ON_ERROR_STOP=1 -f zun-postgresql.sql DATABASE
-- Names of constraints, indexes and sequences (table_id_seq, by "serial") are those of the
-- migrations, so that later ones find what they alter.  What is referred to comes first.
--
-- alembic_version names the last of those migrations, so that "zun-db-manage upgrade" finds nothing to do.
-- quota_usages has neither key nor default for id: so it is upstream.

CREATE TABLE alembic_version (
	version_num varchar(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

INSERT INTO alembic_version (version_num) VALUES ('3f2b36231bee');

CREATE TABLE zun_service (
	id serial,
	created_at timestamp,
	updated_at timestamp,
	report_count integer NOT NULL,
	host varchar(255),
	"binary" varchar(255),
	disabled boolean,
	disabled_reason varchar(255),
	last_seen_up timestamp,
	forced_down boolean,
	availability_zone varchar(255),
	CONSTRAINT zun_service_pkey PRIMARY KEY (id),
	CONSTRAINT uniq_zun_service0host0binary UNIQUE (host, "binary")
);

CREATE TABLE compute_node (
	created_at timestamp,
	updated_at timestamp,
	uuid varchar(36) NOT NULL,
	hostname varchar(255) NOT NULL,
	numa_topology text,
	mem_total integer NOT NULL,
	mem_free integer NOT NULL,
	mem_available integer NOT NULL,
	total_containers integer NOT NULL,
	running_containers integer NOT NULL,
	paused_containers integer NOT NULL,
	stopped_containers integer NOT NULL,
	cpus integer NOT NULL,
	cpu_used double precision NOT NULL,
	architecture varchar(32),
	os_type varchar(32),
	os varchar(64),
	kernel_version varchar(128),
	labels text,
	mem_used integer NOT NULL,
	pci_stats text,
	disk_total integer NOT NULL,
	disk_used integer NOT NULL,
	disk_quota_supported boolean DEFAULT false NOT NULL,
	runtimes text,
	enable_cpu_pinning boolean DEFAULT false NOT NULL,
	rp_uuid varchar(36) NOT NULL,
	CONSTRAINT compute_node_pkey PRIMARY KEY (uuid),
	CONSTRAINT uniq_compute_node0rp_uuid UNIQUE (rp_uuid)
);

CREATE TABLE registry (
	created_at timestamp,
	updated_at timestamp,
	id serial,
	project_id varchar(255),
	user_id varchar(255),
	uuid varchar(36),
	name varchar(255),
	domain varchar(255) NOT NULL,
	username varchar(255),
	password varchar(255),
	CONSTRAINT registry_pkey PRIMARY KEY (id),
	CONSTRAINT uniq_registry0uuid UNIQUE (uuid)
);

CREATE TABLE container (
	created_at timestamp,
	updated_at timestamp,
	id serial,
	project_id varchar(255),
	user_id varchar(255),
	uuid varchar(36),
	name varchar(255),
	image varchar(255),
	command text,
	status varchar(20),
	environment text,
	container_id varchar(255),
	memory varchar(255),
	task_state varchar(20),
	cpu double precision,
	workdir varchar(255),
	ports text,
	hostname varchar(255),
	labels text,
	status_reason text,
	image_pull_policy text,
	addresses text,
	host varchar(255),
	restart_policy text,
	status_detail varchar(50),
	image_driver text,
	interactive boolean,
	websocket_url varchar(255),
	websocket_token varchar(255),
	security_groups text,
	auto_remove boolean,
	runtime varchar(32),
	disk integer,
	auto_heal boolean,
	capsule_id integer,
	started_at timestamp,
	privileged boolean,
	healthcheck text,
	exposed_ports text,
	cpu_policy varchar(255),
	cpuset text,
	registry_id integer,
	container_type integer DEFAULT 0,
	tty boolean,
	annotations text,
	cni_metadata text,
	entrypoint text,
	CONSTRAINT container_pkey PRIMARY KEY (id),
	CONSTRAINT uniq_container0uuid UNIQUE (uuid),
	CONSTRAINT container_capsule_id_fkey FOREIGN KEY (capsule_id)
		REFERENCES container(id) ON DELETE CASCADE,
	CONSTRAINT container_registry_id_fkey FOREIGN KEY (registry_id)
		REFERENCES registry(id)
);
CREATE INDEX ix_container_container_type ON container (container_type);

CREATE TABLE container_actions (
	created_at timestamp,
	updated_at timestamp,
	id serial,
	action varchar(255),
	container_uuid varchar(36) NOT NULL,
	request_id varchar(255),
	user_id varchar(255),
	project_id varchar(255),
	start_time timestamp,
	finish_time timestamp,
	message varchar(255),
	CONSTRAINT container_actions_pkey PRIMARY KEY (id),
	CONSTRAINT container_actions_container_uuid_fkey FOREIGN KEY (container_uuid)
		REFERENCES container(uuid) ON DELETE CASCADE
);
CREATE INDEX container_uuid_idx ON container_actions (container_uuid);
CREATE INDEX request_id_idx ON container_actions (request_id);

CREATE TABLE container_actions_events (
	created_at timestamp,
	updated_at timestamp,
	id serial,
	event varchar(255),
	action_id integer NOT NULL,
	start_time timestamp,
	finish_time timestamp,
	result varchar(255),
	traceback text,
	details text,
	CONSTRAINT container_actions_events_pkey PRIMARY KEY (id),
	CONSTRAINT container_actions_events_action_id_fkey FOREIGN KEY (action_id)
		REFERENCES container_actions(id) ON DELETE CASCADE
);

CREATE TABLE exec_instance (
	created_at timestamp,
	updated_at timestamp,
	id serial,
	container_id integer NOT NULL,
	exec_id varchar(255) NOT NULL,
	token varchar(255),
	url varchar(255),
	CONSTRAINT exec_instance_pkey PRIMARY KEY (id),
	CONSTRAINT uniq_exec_instance0container_id_exec_id UNIQUE (container_id, exec_id),
	CONSTRAINT exec_instance_container_id_fkey FOREIGN KEY (container_id)
		REFERENCES container(id) ON DELETE CASCADE
);

CREATE TABLE volume (
	created_at timestamp,
	updated_at timestamp,
	id serial,
	uuid varchar(36) NOT NULL,
	project_id varchar(255),
	user_id varchar(255),
	cinder_volume_id varchar(36),
	volume_provider varchar(36) NOT NULL,
	connection_info text,
	host varchar(255),
	auto_remove boolean,
	contents text,
	CONSTRAINT volume_pkey PRIMARY KEY (id),
	CONSTRAINT uniq_volume_pg0uuid UNIQUE (uuid)
);

CREATE TABLE volume_mapping (
	created_at timestamp,
	updated_at timestamp,
	id serial,
	uuid varchar(36) NOT NULL,
	project_id varchar(255),
	user_id varchar(255),
	container_uuid varchar(36),
	container_path varchar(255),
	volume_id integer NOT NULL,
	CONSTRAINT volume_mapping_pkey PRIMARY KEY (id),
	CONSTRAINT uniq_volume0uuid UNIQUE (uuid),
	CONSTRAINT volume_mapping_container_uuid_fkey FOREIGN KEY (container_uuid)
		REFERENCES container(uuid),
	CONSTRAINT volume_mapping_volume_id_fkey FOREIGN KEY (volume_id)
		REFERENCES volume(id) ON DELETE CASCADE
);

CREATE TABLE pci_device (
	id serial,
	uuid varchar(36),
	compute_node_uuid varchar(36) NOT NULL,
	address varchar(12) NOT NULL,
	vendor_id varchar(4) NOT NULL,
	product_id varchar(4) NOT NULL,
	dev_type varchar(8) NOT NULL,
	dev_id varchar(255),
	label varchar(255) NOT NULL,
	status varchar(36) NOT NULL,
	extra_info text,
	container_uuid varchar(36),
	numa_node integer,
	parent_addr varchar(12),
	created_at timestamp,
	updated_at timestamp,
	request_id varchar(36),
	CONSTRAINT pci_device_pkey PRIMARY KEY (id),
	CONSTRAINT uniq_pci_device0compute_node_uuid0address UNIQUE (compute_node_uuid, address),
	CONSTRAINT pci_device_compute_node_uuid_fkey FOREIGN KEY (compute_node_uuid)
		REFERENCES compute_node(uuid)
);
CREATE INDEX ix_pci_device_compute_node_uuid ON pci_device (compute_node_uuid);
CREATE INDEX ix_pci_device_compute_node_uuid_parent_addr
	ON pci_device (compute_node_uuid, parent_addr);
CREATE INDEX ix_pci_device_container_uuid ON pci_device (container_uuid);

CREATE TABLE network (
	created_at timestamp,
	updated_at timestamp,
	id serial,
	project_id varchar(255),
	user_id varchar(255),
	name varchar(255),
	uuid varchar(36),
	network_id varchar(255),
	neutron_net_id varchar(255),
	host varchar(255),
	CONSTRAINT network_pkey PRIMARY KEY (id),
	CONSTRAINT uniq_network0neutron_net_id_host UNIQUE (neutron_net_id, host),
	CONSTRAINT uniq_network0uuid UNIQUE (uuid)
);

CREATE TABLE image (
	created_at timestamp,
	updated_at timestamp,
	id serial,
	project_id varchar(255),
	user_id varchar(255),
	uuid varchar(36),
	image_id varchar(255),
	repo varchar(255),
	tag varchar(255),
	size varchar(255),
	host varchar(255),
	CONSTRAINT image_pkey PRIMARY KEY (id),
	CONSTRAINT uniq_image0repotaghost UNIQUE (repo, tag, host)
);

CREATE TABLE quotas (
	created_at timestamp,
	updated_at timestamp,
	id serial,
	project_id varchar(255),
	resource varchar(255) NOT NULL,
	hard_limit integer,
	CONSTRAINT quotas_pkey PRIMARY KEY (id)
);
CREATE INDEX ix_quotas_project_id ON quotas (project_id);

CREATE TABLE quota_classes (
	created_at timestamp,
	updated_at timestamp,
	id serial,
	class_name varchar(255),
	resource varchar(255),
	hard_limit integer,
	CONSTRAINT quota_classes_pkey PRIMARY KEY (id)
);
CREATE INDEX quota_classes_class_name_idx ON quota_classes (class_name);

CREATE TABLE quota_usages (
	created_at timestamp,
	updated_at timestamp,
	id integer NOT NULL,
	project_id varchar(255),
	resource varchar(255) NOT NULL,
	in_use integer NOT NULL,
	reserved integer NOT NULL,
	until_refresh integer
);
CREATE INDEX ix_quota_usages_project_id ON quota_usages (project_id);

CREATE TABLE resource_provider (
	created_at timestamp,
	updated_at timestamp,
	id serial,
	uuid varchar(36) NOT NULL,
	name varchar(255) NOT NULL,
	root_provider varchar(36) NOT NULL,
	parent_provider varchar(36),
	can_host integer,
	CONSTRAINT resource_provider_pkey PRIMARY KEY (id),
	CONSTRAINT uniq_resource_provider0uuid UNIQUE (uuid)
);

CREATE TABLE resource_class (
	created_at timestamp,
	updated_at timestamp,
	id serial,
	name varchar(255) NOT NULL,
	uuid varchar(36) NOT NULL,
	CONSTRAINT resource_class_pkey PRIMARY KEY (id),
	CONSTRAINT uniq_resource_class0uuid UNIQUE (uuid)
);

CREATE TABLE inventory (
	created_at timestamp,
	updated_at timestamp,
	id serial,
	resource_provider_id integer NOT NULL,
	resource_class_id integer NOT NULL,
	total integer NOT NULL,
	reserved integer NOT NULL,
	min_unit integer NOT NULL,
	max_unit integer NOT NULL,
	step_size integer NOT NULL,
	allocation_ratio double precision NOT NULL,
	is_nested integer NOT NULL,
	blob text,
	CONSTRAINT inventory_pkey PRIMARY KEY (id),
	CONSTRAINT uniq_inventory0resource_provider_resource_class
		UNIQUE (resource_provider_id, resource_class_id)
);
CREATE INDEX inventory_resource_class_id_idx ON inventory (resource_class_id);
CREATE INDEX inventory_resource_provider_id_idx ON inventory (resource_provider_id);
CREATE INDEX inventory_resource_provider_resource_class_idx
	ON inventory (resource_provider_id, resource_class_id);

CREATE TABLE allocation (
	created_at timestamp,
	updated_at timestamp,
	id serial,
	resource_provider_id integer NOT NULL,
	consumer_id varchar(36) NOT NULL,
	resource_class_id integer NOT NULL,
	used integer NOT NULL,
	is_nested integer NOT NULL,
	blob text,
	CONSTRAINT allocation_pkey PRIMARY KEY (id)
);
CREATE INDEX allocation_consumer_id_idx ON allocation (consumer_id);
CREATE INDEX allocation_resource_class_id_idx ON allocation (resource_class_id);
CREATE INDEX allocation_resource_provider_class_used_idx
	ON allocation (resource_provider_id, resource_class_id, used);
